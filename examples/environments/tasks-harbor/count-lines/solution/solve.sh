#!/bin/bash
cd /app
find logs -name '*.log' -exec cat {} + | grep -c ERROR > count.txt
