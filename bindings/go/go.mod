module poprt.org/bindings/go

go 1.19
