"""What package popef shows. It is in here because executables give and take its models: popef imports poprt, and
poprt nothing of popef."""
