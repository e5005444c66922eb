"""Numbers that tell when memory goes bad: what is measured, sampled, exposed and warned of."""
