"""`python -m deploy.cli`: the same as `obelus`."""

from deploy.cli import main

main()
