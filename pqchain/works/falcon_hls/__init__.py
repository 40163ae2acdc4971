"""Published work on an HLS accelerator for Falcon signing."""
