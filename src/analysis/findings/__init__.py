"""What a campaign says by itself, and what changed from one campaign to the next."""
