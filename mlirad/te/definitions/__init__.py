"""What a tensor expression is: axes, definitions, and what is checked of them."""
