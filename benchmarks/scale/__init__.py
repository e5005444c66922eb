"""`make bench-scale`: how each cost grows with the memories of an owner, with owners, and with clients at once.

`__main__` starts a process with a site of its own for each point (`points`); `plots` draws what was measured, in the
environment of `requirements/bench-peers.txt`.
"""
