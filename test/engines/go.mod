module thole.example/test/engines

go 1.26.0
