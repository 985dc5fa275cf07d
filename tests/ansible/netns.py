"""Real SSH hosts on one machine: each a network and a mount namespace with a sshd of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.doctor.probes.fakes import fake_toolkit

NVML = Path(__file__).with_name("nvml.c")
# Addresses that no network uses: 198.18.0.0/15 is for benchmarks (RFC 2544).
_NETWORK = "198.18"
NEEDED = ("ip", "sshd", "ssh-keygen", "unshare", "cc")

# Runs inside the namespaces of a host. $1 is its directory, the rest are mounts.
_START = """
set -e
hostname "$NAME"
mount --make-rprivate /
if [ "$OWN" = yes ]; then
  mount --bind "$HOST/local" /usr/local
  mount --bind "$HOST/root" /root
else
  # This machine's home as it is, and what is written there lies with the host.
  mkdir "$HOST/work"
  mount -t overlay overlay -o "lowerdir=/root,upperdir=$HOST/root,workdir=$HOST/work" /root
fi
{mounts}
exec "$(command -v sshd)" -D -e -f "$HOST/sshd_config"
"""


def missing() -> list[str]:
    """Return what this machine lacks for such hosts."""
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    return lacking if os.geteuid() == 0 else [*lacking, "root"]


@dataclass
class SshHost:
    """What one host is like.

    Attributes:
        driver: Version that its NVML tells; empty for a host without a driver.
        toolkit: Release of its CUDA toolkit; empty for none.
        mounts: Shell lines that change its file system.
        own: Whether it has a ``/usr/local`` of its own, with that toolkit and driver, and an empty
            ``/root``; otherwise it sees this machine's.
    """

    name: str
    driver: str = "580.159.04"
    toolkit: str = "13.0.88"
    mounts: list[str] = field(default_factory=list)
    own: bool = True
    number: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Its own end of the wire."""
        return f"{_NETWORK}.{self.number}.2"


class Hosts:
    """Starts hosts, and takes them down again."""

    def __init__(self, directory: Path, hosts: list[SshHost], first: int = 1) -> None:
        self.directory = directory
        self.hosts = hosts
        self.key = directory / "key"
        for number, host in enumerate(hosts, start=first):
            host.number = number

    def __enter__(self) -> Hosts:  # noqa: PYI034 - Self needs Python 3.11
        self.directory.mkdir(parents=True, exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key))
        # What Debian's service makes for sshd.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        try:
            for host in self.hosts:
                self._start(host)
            for host in self.hosts:
                self._wait(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts:
            self.kill(host)
            for thing in (("netns", "del", self._space(host)), ("link", "del", self._wire(host))):
                subprocess.run(["ip", *thing], check=False, capture_output=True)

    def kill(self, host: SshHost) -> None:
        """Take a host away, as a power cut does."""
        pids = subprocess.run(
            ["ip", "netns", "pids", self._space(host)], check=False, capture_output=True, text=True
        )
        for pid in pids.stdout.split():
            subprocess.run(["kill", "-9", pid], check=False, capture_output=True)
        if host.process is not None:
            host.process.wait(10)

    def inventory(self, only: str = "") -> str:
        """Return an INI inventory of all hosts, or of one."""
        known = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=3"
        common = (
            f"ansible_user=root ansible_ssh_private_key_file={self.key}"
            f" ansible_ssh_common_args='{known}' ansible_python_interpreter=/usr/bin/python3"
        )
        lines = [
            f"{host.name} ansible_host={host.address} {common}"
            for host in self.hosts
            if only in {"", host.name}
        ]
        return "[fleet]\n" + "\n".join(lines) + "\n"

    def _space(self, host: SshHost) -> str:
        return f"dsv4-{os.getpid()}-{host.number}"

    @staticmethod
    def _wire(host: SshHost) -> str:
        # At most 15 characters.
        return f"d{os.getpid()}-{host.number}"

    def _start(self, host: SshHost) -> None:
        space, wire = self._space(host), self._wire(host)
        run("ip", "netns", "add", space)
        run("ip", "link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", space)
        run("ip", "addr", "add", f"{_NETWORK}.{host.number}.1/24", "dev", wire)
        run("ip", "link", "set", wire, "up")
        run("ip", "-n", space, "addr", "add", f"{host.address}/24", "dev", "eth0")
        run("ip", "-n", space, "link", "set", "eth0", "up")
        run("ip", "-n", space, "link", "set", "lo", "up")
        place = self._files(host)
        script = _START.format(mounts="\n".join(host.mounts))
        argv = ["ip", "netns", "exec", space, "unshare", "--mount", "--uts", "sh", "-c", script]
        path = f"/usr/sbin:/usr/bin:/sbin:/bin:{os.environ['PATH']}"
        with (place / "sshd.log").open("wb") as log:
            host.process = subprocess.Popen(
                argv,
                env={
                    "PATH": path,
                    "HOST": str(place),
                    "NAME": host.name,
                    "OWN": "yes" if host.own else "no",
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _files(self, host: SshHost) -> Path:
        place = self.directory / host.name
        (place / "root/.ssh").mkdir(parents=True, mode=0o700)
        (place / "local/lib").mkdir(parents=True)
        shutil.copy(f"{self.key}.pub", place / "root/.ssh/authorized_keys")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / "host_key"))
        variables = ["LD_LIBRARY_PATH=/usr/local/lib"]
        if host.toolkit and host.own:
            major, minor, _ = host.toolkit.split(".")
            code = int(major) * 1000 + int(minor) * 10
            root = fake_toolkit(place / "local/cuda", version=host.toolkit, code=code)
            nvcc = root / "bin/nvcc"
            # On the host itself the directory has another name.
            nvcc.write_text(nvcc.read_text().replace(str(place / "local"), "/usr/local"))
            variables.append("CUDA_HOME=/usr/local/cuda")
        if host.driver:
            self._nvml(place / "local/lib/libnvidia-ml.so.1", host.driver)
        (place / "sshd_config").write_text(
            f"HostKey {place}/host_key\nListenAddress {host.address}\nPermitRootLogin yes\n"
            f"AuthorizedKeysFile {place}/root/.ssh/authorized_keys\n"
            f"PidFile none\nStrictModes no\nUsePAM no\nSubsystem sftp internal-sftp\n"
            f"SetEnv {' '.join(variables)}\n"
        )
        return place

    @staticmethod
    def _nvml(path: Path, driver: str) -> None:
        macros = [f'-DDRIVER="{driver}"', "-DCUDA=13000", "-DGPUS=2"]
        run("cc", "-shared", "-fPIC", *macros, "-o", str(path), str(NVML))

    def _wait(self, host: SshHost) -> None:
        end = time.monotonic() + 20
        while not answers(host.address):
            gone = host.process is not None and host.process.poll() is not None
            if gone or time.monotonic() > end:
                log = (self.directory / host.name / "sshd.log").read_text(errors="replace")
                msg = f"{host.name} does not start: {log}"
                raise RuntimeError(msg)
            time.sleep(0.1)


def answers(address: str) -> bool:
    """Whether there is a server for SSH."""
    try:
        socket.create_connection((address, 22), timeout=1).close()
    except OSError:
        return False
    return True


def run(*argv: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode:
        msg = f"{' '.join(argv)}: {done.stderr}"
        raise RuntimeError(msg)
