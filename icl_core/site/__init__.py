"""The dashboard as a folder of plain files, which need no server."""
