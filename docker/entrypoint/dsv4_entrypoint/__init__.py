"""The entry point of the image; see ``__main__``."""
