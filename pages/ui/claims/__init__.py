"""The page of claims and the evidence for one."""
