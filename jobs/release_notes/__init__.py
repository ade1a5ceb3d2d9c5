"""What publishers write about their releases: where it stands and how it begins. Which release is meant, others say."""
