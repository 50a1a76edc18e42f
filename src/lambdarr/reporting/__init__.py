"""What people look at: tables for the terminal, and results as plain values for files."""
