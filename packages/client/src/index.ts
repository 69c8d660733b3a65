// The client of Storekeeper. Everything that depends on the API is generated from the service's table of routes.

export {}
