"""Entry point of `python -m pqchain`."""

import sys


def main() -> int:
    """Run one command and return its exit code; exit without a traceback on Ctrl-C."""
    # Imported here, so that Ctrl-C during the import is caught too.
    try:
        from pqchain.commands import main as commands

        return commands.main()
    except KeyboardInterrupt:
        sys.stderr.write("pqchain: interrupted\n")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
