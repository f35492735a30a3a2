"""The implementation of package popef. It is part of poprt because executables use its models: popef imports poprt, and
poprt does not import popef."""
