"""What is past its time: taken in batches by the same erasers, one receipt a tenant and day (D12)."""
