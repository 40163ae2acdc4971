// Cargo wants a library; this one is empty on purpose.
