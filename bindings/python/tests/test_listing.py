"""Which files are disclosed by those that were opened."""

from foresee.listing import AHEAD, IN_ORDER, SMALL, Listing


def disclosed(listed, opened, size=10):
    found = []
    listing = Listing(found.append)
    listing.listed(listed)
    for path in opened:
        listing.opened(path, size)
    return found


NAMES = [f"{at:04}" for at in range(1000)]


def test_the_next_ones_are_disclosed_once_each():
    assert disclosed(NAMES, NAMES[:IN_ORDER - 1]) == []
    assert disclosed(NAMES, NAMES[:IN_ORDER]) == NAMES[IN_ORDER:IN_ORDER + AHEAD]
    assert disclosed(NAMES, NAMES) == NAMES[IN_ORDER:]
    # Two threads side by side.
    mixed = [it for pair in zip(NAMES[1::2], NAMES[::2]) for it in pair]
    found = disclosed(NAMES, mixed)
    assert sorted(found) == found == sorted(set(found)) and len(found) > 990


def test_what_is_opened_elsewhere_or_in_no_order_or_large_discloses_nothing():
    assert disclosed(NAMES, ["else"] * 10) == disclosed(NAMES, NAMES[::300] * 3) == disclosed(NAMES, NAMES, SMALL + 1) == []
