"""What a call of an operator goes through, in this order: codegen and public (the function that is called), bind and
overrides (its arguments),
promotion and geometry (what the result is), dispatch (the kernel), inplace and out (where the result goes)."""
