"""Lets `python -m steadygpu` be the command."""

from steadygpu.cli import main

main()
