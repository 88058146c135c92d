"""What was handed in, and which of its code an answer needs: read, never run."""
