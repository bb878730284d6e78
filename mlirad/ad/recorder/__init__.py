"""What launches and writes from Python go to inside a tape."""
