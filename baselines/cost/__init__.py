"""What a result costs, in money and energy: `books` hold the prices, `derived` and `releases` do the sums."""
