module github.com/cloudflare/circl

go 1.25.0
