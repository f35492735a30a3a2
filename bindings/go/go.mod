module poprt.example.org/bindings/go

go 1.19
