-- Run by tests/it/bindings.rs: `fake` can be installed, and the archive of `slow` never ends.
local acp = dofile('acp_registry.lua')
local flags = vim.split(vim.env.RPC_FLAGS, ' ')

--- Sends a request, and waits for its error and its result.
local function ask(registry, method, params)
  local done, failed, result
  registry:request(method, params, function(error, value) done, failed, result = true, error, value end)
  assert(vim.wait(60000, function() return done end), method)
  return failed, result
end

local registry = acp.start({ args = flags })
local failed = ask(registry, 'info', { agent = 'fakee' })
assert(failed.code == -32002 and failed.data.suggestions[1] == 'fake', vim.inspect(failed))

local downloading, cancelled
local id = registry:request('install', { agents = { 'slow' } }, function(error) cancelled = error end, function(event)
  downloading = downloading or event.phase == 'downloading'
end)
assert(vim.wait(60000, function() return downloading end))
local _, listed = ask(registry, 'list')
assert(#listed.agents == 2 and listed.agents[1].installed_version == nil, vim.inspect(listed))
registry:cancel(id)
assert(vim.wait(60000, function() return cancelled end))
assert(cancelled.code == -32800, vim.inspect(cancelled))
registry:close()

local nameless = acp.start({ program = vim.env.RPC_NAMELESS })
assert(ask(nameless, 'list').code == -32700)
nameless:close()

assert(not pcall(acp.start, { program = 'no-such-program' }))
local other = acp.start({ args = { '--no-such-flag' } })
assert(ask(other, 'list').message:find('has ended', 1, true))
assert(ask(other, 'list').message:find('has ended', 1, true))
vim.cmd('qall!')
