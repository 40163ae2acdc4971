"""`python -m pqchain` is `pqchain`."""

import sys


def main() -> int:
    """Run one command; Ctrl-C while the program still loads ends it without a word too many."""
    try:
        from pqchain.commands import main as commands

        return commands.main()
    except KeyboardInterrupt:
        sys.stderr.write("pqchain: interrupted\n")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
