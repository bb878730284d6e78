"""Derivatives of tensor expressions, as tensor expressions."""
