"""What was seen: frozen records, one module for each subject. Import the module you need."""
