module allomon.example/tables

go 1.19
