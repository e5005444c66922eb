"""No page of the admin shows or changes what is another tenant's: every address, action and choice, for each role."""
