"""Entry point of the ``dsv4-doctor`` command."""

import gc

# A command ends in a moment and makes no cycles worth collecting: a twelfth of a check's time.
gc.disable()

from dsv4_doctor.cli.main import main  # noqa: E402 - the imports are what it is about

if __name__ == "__main__":
    main()
