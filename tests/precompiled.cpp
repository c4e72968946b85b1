// Nothing: what all tests include is precompiled with it.
