"""Entry point of the ``dsv4-doctor`` command."""

from dsv4_doctor.cli.main import main

if __name__ == "__main__":
    main()
