"""`python -m pqchain` is `pqchain`."""

from pqchain.commands.main import main

if __name__ == "__main__":
    raise SystemExit(main())
