"""JSON in and out, with its schemas: the only room that knows the serialiser."""
