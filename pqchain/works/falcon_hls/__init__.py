"""An HLS accelerator for Falcon's signing."""
