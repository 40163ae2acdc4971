"""`python -m pqchain` is `pqchain`."""

from pqchain.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
