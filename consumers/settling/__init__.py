"""Where memories stand: a slot is settled from its evidence, by whoever adds to that or takes from it.

The resolver hears new evidence, the purger takes erased evidence away; both read a slot here, settle it here and
place its memories here, and each writes what it may.
"""
