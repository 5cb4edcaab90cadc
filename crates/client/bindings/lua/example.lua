-- Lists the agents, installs the named one, starts it, and prints what it answers:
-- nvim --headless -u NONE -c 'luafile example.lua' -c cquit -- ID
local acp = dofile('acp_registry.lua')
local words, failed, answer = vim.fn.argv(), nil, nil
local registry = acp.start({ args = vim.list_slice(words, 2) })
local function say(...) io.write(table.concat({ ... }, ' '), '\n') end
local function show(event) say(event.event, event.phase or event.message, event.received or '') end

registry:request('list', nil, function(_, listed)
  for _, agent in ipairs(listed.agents) do say(agent.id, agent.version) end
end)
registry:request('install', { agents = { words[1] } }, function(problem, installed)
  registry:close()
  failed = problem
  if failed then return end
  local agent = acp.launch(installed.agents[1], function(line) answer = answer or line end)
  local params = { protocolVersion = 1, clientCapabilities = vim.empty_dict() }
  agent.write(vim.json.encode({ jsonrpc = '2.0', id = 0, method = 'initialize', params = params }) .. '\n')
end, show)

vim.wait(60000, function() return failed or answer end)
if failed then error(failed.message) end
say('answers', answer)
vim.cmd('qall!')
