"""What is made sure of a wheel, and put beside it, before it is handed over."""
