"""Programs that show what can be done. `mindtorch-demo` runs one of them."""
