"""The pages of staff: views by noun, in the frame of the admin and under its addresses."""
