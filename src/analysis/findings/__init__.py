"""What a campaign says by itself: its conclusions, found by a search, ranked, and kept as claims."""
