"""Pure rules shared by consumers and streams: policy document, gate, screening, time and text."""
