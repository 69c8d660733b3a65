#!/usr/bin/env node
import '../packages/cli/bin/skp.js'
