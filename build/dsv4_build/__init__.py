"""The source build: plan, toolchain, compile, wheel, proof."""
