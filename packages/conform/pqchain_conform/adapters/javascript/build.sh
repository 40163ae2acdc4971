#!/bin/sh -e
# Run in a copy of this folder.
npm ci --silent --no-audit --no-fund
