# Images for a matrix of architectures and CUDA versions, by BuildKit alone:
#
#     dsv4-doctor image WHEEL --context context     # the build context
#     docker buildx bake -f docker/docker-bake.hcl  # images, from its wheel
#
# or, from sources that were put into CONTEXT/source, on a machine with nothing but Docker:
#
#     docker buildx bake -f docker/docker-bake.hcl wheels
#     cp dist/cu130-sm_90/*.whl CONTEXT/wheel/
#
# The arguments that `dsv4-doctor image` would give are in CONTEXT/arguments.env.

variable "CONTEXT" { default = "context" }
variable "NAME" { default = "vllm" }
variable "JIT" { default = "base" }
variable "GLIBC_MIN" { default = "" }
variable "PYTHON_MIN" { default = "3.10" }
variable "APT_SNAPSHOT" { default = "" }
variable "SOURCE_DATE_EPOCH" { default = "315532800" }
variable "WHEEL_SHA256" { default = "" }

variable "ARCHS" { default = ["sm_90", "sm_100"] }

# Bases by digest. Another CUDA is another entry: `docker buildx imagetools inspect` says its digest.
variable "BASES" {
  default = {
    "13.0" = "docker.io/nvidia/cuda@sha256:5dc1bca23d05bd37b011be68ec470c03b403a5da07ec3a86e41af9470e9d0cc6"
  }
}

group "default" { targets = ["image"] }
group "wheels" { targets = ["wheel"] }

target "_common" {
  context    = CONTEXT
  dockerfile = "docker/Dockerfile"
  # They name the builder and the moment, which no second build has.
  attest = ["type=provenance,disabled=true", "type=sbom,disabled=true"]
  args = {
    JIT               = JIT
    GLIBC_MIN         = GLIBC_MIN
    PYTHON_MIN        = PYTHON_MIN
    APT_SNAPSHOT      = APT_SNAPSHOT
    SOURCE_DATE_EPOCH = SOURCE_DATE_EPOCH
    WHEEL_SHA256      = WHEEL_SHA256
  }
}

target "wheel" {
  inherits = ["_common"]
  name     = "wheel-cu${replace(cuda, ".", "")}-${arch}"
  matrix   = { cuda = keys(BASES), arch = ARCHS }
  target   = "compiled"
  args     = { BASE = BASES[cuda], ARCHS = arch }
  output   = ["type=local,dest=dist/cu${replace(cuda, ".", "")}-${arch}"]
}

target "image" {
  inherits = ["_common"]
  name     = "image-cu${replace(cuda, ".", "")}"
  matrix   = { cuda = keys(BASES) }
  target   = "runtime"
  args     = { BASE = BASES[cuda] }
  tags     = ["${NAME}:cu${replace(cuda, ".", "")}"]
  output   = ["type=oci,dest=dist/${NAME}-cu${replace(cuda, ".", "")}.tar,rewrite-timestamp=true"]
}
