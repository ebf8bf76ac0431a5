"""Claims verified: their runs trained anew and compared with what is stored; the study as a
report."""
